"""What lines make of sample streams: sizes and fits, beside other ways, and what cleaning and ranking lose."""
