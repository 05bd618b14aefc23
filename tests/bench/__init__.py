"""What is measured, and the bars that it is held to. Nothing here is part of the tests."""
