"""Queries: the answer to a question about the last epoch, of which nothing is kept but plans and indexes.

pattern      one atom: constants, `_` and variables, of a relation or along a path; values for parameters
bodies       any other query: the body of a rule, with parameters
meanings     texts and what they stand for, patterns of facts to retract as well
evaluation   rules that are evaluated once, over the views of an engine in place, and their plans
answers      `Answers`: queries that a database has been asked, their answers, and how they would be evaluated

Engines are in `maintain/` and `spark/cluster/`; what a user calls is in `database`, `spark/database` and `rdf/store`.
"""
