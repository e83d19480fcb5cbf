"""The check of views in partitions, which `verdict` plans.

joins    a rule in steps, in each of which all tables meet by the words of one variable
steps    the part of a partition: it sends rows to steps, evaluates them, and compares views with heads
"""
