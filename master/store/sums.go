package store

// Sums of sizes as bigints. What tasks have reported may come to more than a bigint
// holds, or to less than nothing, and a list of everybody's experiments has to be
// answered all the same. What is summed goes between sumOf and summed; a number that
// is numeric already, between clamped and bigint.
const (
	clamped = `least(greatest(`
	bigint  = `, 0), 9223372036854775807)::bigint`
	sumOf   = clamped + `coalesce(sum(`
	summed  = `), 0)` + bigint
)
