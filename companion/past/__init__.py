"""Games that were played: kept, listed, told again, given away."""
