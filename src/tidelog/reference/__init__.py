"""Slow and obvious evaluators: what programs mean, in plain Python over sets, as the oracle of the tests.

    values         functors, comparisons and aggregates on Python values
    paths          what regular paths mean, as operations on relations
    substitutions  the substitutions that satisfy a body of the checked program
    naive          checked program + facts -> the least model
    seminaive      core program + facts -> the least model with the birth and count of each tuple
    joins          what the algorithms below share: joins that start from a change, counted
    elastic        core program + changes of facts: Bootstrap and Update of the paper on elastic incrementalization
    dred           core program + changes of facts: delete and re-derive
    zodiacedge     core program + changes of facts and of rules: Algorithms 1 to 4 of the ZodiacEdge paper
    psn            core rules + updates in any order: pipelined semi-naive evaluation of distributed views
    regular        Regular Datalog programs (regular_programs) + changes of edges: the engine of that paper

`naive` reads syntax trees and knows nothing of the rewrites in `rules/`, so that it can judge them; `seminaive` reads
what the rewrites make of them, as do the others; `regular` has programs of its own. None shares code with the engine,
and the engine imports nothing from here.
"""
