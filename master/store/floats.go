package store

// floatAt is an SQL value of type jsonb as a float8, and NULL where it is no number or
// one that no float8 holds. JSON has larger numbers and smaller ones than a float8,
// and PostgreSQL fails a whole statement that casts one of them.
func floatAt(value string) string {
	number := "(" + value + ")::numeric"
	return "(CASE WHEN jsonb_typeof(" + value + ") IS DISTINCT FROM 'number' THEN NULL" +
		" WHEN abs(" + number + ") > 1.7976931348623157e308 THEN NULL" +
		" WHEN abs(" + number + ") < 4.94e-324 THEN 0" +
		" ELSE (" + value + ")::float8 END)"
}
