"""The pages of a printable kit: instructions, board, pieces, cards. May import what
`companion.printing` may import.
"""
