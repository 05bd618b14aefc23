"""What is printed: kits, booklets, cards, and the pictures in the rules."""
