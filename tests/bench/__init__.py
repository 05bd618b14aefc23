"""Benches: they measure the program and compare the values with bars. No test run includes them."""
