"""The parts of a database, without locks and evaluation.

workspace  the program, the dictionary, and the changes that wait for a commit
programs   the cache of compiled programs by their content, so that large ones start fast
change     what a commit did, and who hears of it
options    options with their checks
turns      which thread may do what when, and relations as of the last epoch
objects    no copies, earlier names of verbs, and the warning of changes that wait
"""
