"""Profiles: where the time of epochs goes, by hyper-node, rule, plan and level. Off unless a database asks for it.

    recorder   the clock of the epoch under way: each moment counts for one step;  from counts to profiles of rules
    counts     what kernels count of plans (`kernels.counting`), and how it is read
    profile    the result as its user sees it

The engine names its steps by `recorder.step`, whether anybody records or not.
"""
