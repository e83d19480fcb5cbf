"""Partitions and the processes that run them.

partition   an embedded engine over its share of the rows, which does a round
serve       the tasks of a partition, in whichever process it lives; rows that move to other partitions
host        a host process on each machine, and one process per partition below it
executors   tasks to partitions: over a Spark session, or in the driver's process
"""
