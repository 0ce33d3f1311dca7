"""One way of telling a file; telling never decides.

A member has a `NAME` and `render(result) -> str`. One that says `DRAWS = True` is given reports
that hold their `document` and, in `kept`, the models and decisions that their verdict is of. One
that says `PLACES = True` is given reports that hold their `document` alone.
"""
