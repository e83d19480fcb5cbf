"""Types and helpers for all rooms.

arrays        types of arrays;  differing  differences of sequences
source        places in texts;  markup  tables in HTML
looking       looks at limits;  collecting  work that puts off the search for garbage
cache_folder  the folder of what can be made again
"""
