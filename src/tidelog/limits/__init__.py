"""Limits and Ctrl-C: they stop long work from outside, at places where stopping is safe.

watch       the limits of one epoch or check: time, rows, sizes of relations; lack of memory becomes an error
progress    reports to a function of how far such work has come
interrupts  Ctrl-C that waits until it is looked at, and work that another thread ends
listening   a thread that hears Ctrl-C while kernels run
"""
