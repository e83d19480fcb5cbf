"""Partitions and the processes that run them.

partition   an embedded engine over its share of the rows, which does a round
serve       the tasks of a partition, in whichever process it lives
host        a host process on each machine, and one process per partition below it
warm        what a host loads before it starts partitions
executors   tasks to partitions: over a Spark session, or in the driver's process
"""
