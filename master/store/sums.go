package store

// Sums of sizes as bigints. What tasks have reported may come to more than a bigint
// holds, or to less than nothing, and a list of everybody's experiments has to be
// answered all the same. What is summed goes between sumOf and summed; a number that
// is numeric already, between mostOf and bigint.
const (
	mostOf = `least(greatest(`
	bigint = `, 0), 9223372036854775807)::bigint`
	sumOf  = mostOf + `coalesce(sum(`
	summed = `), 0)` + bigint
)
