"""The experiments of the paper on elastic incrementalization: `python -m benchmarks.elastic`, or `make bench-elastic`.

workloads    the three programs with their facts: GALEN, CRDT, and a points-to analysis points_to    the rules of that
analysis; `bytecode` makes its facts updates      facts deleted and inserted again, from 10 to 100,000: Figure 5 and
Table 3 epochs       thirteen epochs, small and large, by four strategies: Figure 6 and Table 2 proportion   one edge of
chains, grids and trees of growing size derivations  the derivations that three algorithms visit for the same changes
paper        the paper's own figures tables       the printed tables plots        impact against time, drawn processes
one measurement in a process of its own
"""
