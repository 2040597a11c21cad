"""What a hit is, for each retriever: a module of its name, whose ``view_of`` describes it."""
