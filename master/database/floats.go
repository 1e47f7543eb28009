package database

// FloatAt returns SQL that converts a jsonb value to float8, or to NULL if it is not a
// number or outside the range of float8. PostgreSQL fails the whole statement at a cast of
// such a number, and JSON can contain one. A number whose text is short is in the range, and its
// text becomes a float8 faster than a numeric does.
func FloatAt(value string) string { return FloatOf(value, "("+value+" #>> '{}')") }

// FloatOf is FloatAt for a value and its text.
func FloatOf(value, text string) string {
	number := "(" + value + ")::numeric"
	return "(CASE WHEN jsonb_typeof(" + value + ") = 'number' THEN CASE WHEN octet_length(" + text + ") < 300 THEN " + text + "::float8" +
		" WHEN abs(" + number + ") > 1.7976931348623157e308 THEN NULL" +
		" WHEN abs(" + number + ") < 4.94e-324 THEN 0" +
		" ELSE (" + value + ")::float8 END END)"
}
