"""What a database consists of, without locks and evaluation.

workspace      the program, the dictionary, and the changes that wait for a commit
programs       the cache of compiled programs by their content, so that large ones start fast
change         what a commit did;  views  relations as of the last epoch
options        options with their checks;  subscribers  who hears of changes
turns          which thread may do what when;  pending  the warning of changes that wait
copies         objects that cannot be copied;  earlier_names  the names that verbs had before
"""
