// Package searches is the room of searches as programs and pages see them. Package search folds a search from its events, and package
// experiments stores these events. Files, in reading order:
//
//	routes.go        the endpoints, and what they use of others
//	custom.go        programs that control a search (the searcher custom): their events and operations
//	proposals.go     programs that propose hyperparameters (sampler: program): what happened in their search, and their proposals
//	driven.go        Driven keeps these searches in memory, so that a call folds only what is new
//	rows.go          what a search is computed from, what operations add, and its trials
//	lengths.go       the lengths of training that harnesses before 0.38 ask for
//	preview.go       the plan of a search
//	curves.go        all trials of a search with their curves
package searches
