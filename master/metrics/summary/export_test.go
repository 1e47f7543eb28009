package summary

// MaxLast is for tests, which are in another package because they use store, which imports this one.
const MaxLast = maxLast

// Counted returns the names and bytes that the summary counts for its bounds.
func (s *Trial) Counted() (names, bytes int) { return s.names, s.bytes }
