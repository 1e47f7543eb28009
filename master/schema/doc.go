// Package schema has the migrations of the database of Detent, which the engine (package database) applies, and the number of the cluster
// that they generate.
//
// schema.txt is the schema that they make, for readers; a test compares it. Constraints in the migrations state the invariants, so
// code that violates one cannot commit. The note at a column says who writes it. Times in rows are the database's now().
package schema
