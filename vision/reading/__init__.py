"""The reader of the board: six stages that take one `Look` and one `Memory` from a picture to what
is told of it.

    look = vote(judge(place(locate(detect(motion(picture))))))

May import `companion.core` and `vision`.
"""
