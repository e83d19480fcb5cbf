"""`make bench-matrix`: fourteen workloads from scratch, whole processes, beside Soufflé, FlowLog and datatoad.

inputs    the facts of each workload, made with fixed seeds
programs  its rules, once, and as each engine writes them
engines   the processes that evaluate them, and what they take
"""
