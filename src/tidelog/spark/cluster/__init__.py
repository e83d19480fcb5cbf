"""The cluster engine: programs over relations that are spread over the partitions of a Spark session.

placement/   a core program becomes a plan: where rows live, where rules are evaluated, which rows are sent
checking/    the check of views, in the partitions
exchange/    the rows and messages that partitions and driver send each other in rounds
processes/   partitions, and the processes that run them beside Spark's workers
manifest     what is committed
epoch        one epoch: facts to where they live, then rounds
engine       epochs over partitions, as the driver sees them, and the engine of a Spark session
verdict      the check of their views, as the driver sees it, and certificates of them
"""
