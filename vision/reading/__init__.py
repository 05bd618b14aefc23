"""The board reader: six stages that take one `Look` and one `Memory` from a picture to a reading.

    look = vote(judge(place(locate(detect(detect_motion(picture))))))

May import `companion.core` and `vision`.
"""
