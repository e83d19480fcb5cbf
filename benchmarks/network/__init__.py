"""The cost of maintaining views on a network of nodes: `python -m benchmarks.network [--quick] [--processes N]`."""
