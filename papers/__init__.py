"""The algorithms of the papers as executable specifications over plain sets, for reading beside the papers.

    elastic        changes of facts: Bootstrap and Update of the paper on elastic incrementalization
    dred           changes of facts: delete and re-derive
    zodiacedge     changes of facts and of rules: Algorithms 1 to 4 of the ZodiacEdge paper
    psn            updates in any order: pipelined semi-naive evaluation of distributed views
    regular        Regular Datalog programs (regular_programs) with changes of edges: the engine of that paper
    joins          joins that start from a change, counted; shared by the first three

Tests, benchmarks and proofs compare with them. The package that users install has none of them. All but `regular` read
the core programs of `tidelog.rules`; `regular` has programs of its own.
"""
