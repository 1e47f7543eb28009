// Package searches is the room of searches as programs and pages see them: programs that control a search (the searcher "custom", and
// harnesses before 0.38, which ask for lengths of training), previews, and the curves of all trials of a search.
//
// Package search folds a search from its events, and package experiments stores these events. A Driven keeps the searches that programs
// control in memory, so that a call folds only what is new.
package searches
