"""Queries: the answer to a question about the last epoch, of which nothing is kept but plans and indexes.

pattern      one atom: constants, `_` and variables, of a relation or along a path
bodies       any other query: the body of a rule, with parameters
deletion     patterns of facts to retract
parameters   values of Python for the parameters of a query
evaluation   rules that are evaluated once, over the views of an engine in place
assembled    their plans, for questions that are asked again
planning     how a query would be evaluated
answers      `Answers`: queries that a database has been asked, and their answers

Engines are in `maintain/` and `spark/cluster/`; what a user calls is in `database`, `spark/database` and `rdf/store`.
"""
