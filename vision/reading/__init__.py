"""The board reader: six stages from a picture to what lies on the squares.

    look = cast_vote(judge(place(locate(detect(detect_motion(picture))))))

Each stage takes a `Look`, which is what was found in the picture so far, and a `Memory` of earlier
pictures, and returns new ones. `BoardReader` runs the stages.

May import `companion.core` and `vision`.
"""
