"""What maintaining views on a network of nodes costs: `python -m benchmarks.network [--quick] [--processes N]`."""
