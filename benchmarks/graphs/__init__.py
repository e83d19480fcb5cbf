"""Regular paths over graphs: `python -m benchmarks.graphs`, or `make bench-graphs`.

gmark        gMark's graphs and workloads, read schema       gMark's schemas, and graphs of any size from them workload
queries from a schema that comes without any translation  a query as a program with path literals, and as definitions
without warming      kernels compiled before anything is measured measure      one query from scratch, and kept up with
whole symbols and single edges that come and go peers        the same query by DuckDB and by Nemo closures     closures
as an operator: a large one, and rule sets with and without recognition processes    one measurement in a process of its
own, with limits paper        the figures of the paper on Regular Datalog targets      targets, compared with
measurements tables       the printed tables
"""
