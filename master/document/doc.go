// Package document is pure: it reads documents in YAML or JSON that people write, keeps the position of each value, and says all that is
// wrong with a document at once. The files, in the order in which one reads them:
//
//	node.go     Node, a value with its position; how scalars are understood; the limits of a document
//	yaml.go     Parse reads YAML, or JSON, within the limits
//	json.go     ParseJSON reads JSON
//	emit.go     Emit writes a tree as YAML
//	problem.go  Problem, a mistake with its position; Errors, all of them; Positions, where the values of a document are
//
// Who reads a document decides what its fields mean: package expconf for configurations of experiments, and pool/jobfile for jobs in JSON.
package document
