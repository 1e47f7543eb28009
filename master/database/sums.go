package database

// Sums of sizes as bigint. Those of what tasks have reported may overflow a bigint or be negative; a query must not fail then, because
// it may list the experiments of all users.

// SumOf is SQL for the sum of an expression.
func SumOf(expression string) string { return Clamped(`coalesce(sum(` + expression + `), 0)`) }

// Clamped is SQL for a numeric value, from 0 to the largest bigint.
func Clamped(value string) string {
	return `least(greatest(` + value + `, 0), 9223372036854775807)::bigint`
}
