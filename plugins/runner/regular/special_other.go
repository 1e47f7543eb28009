//go:build !unix

package regular

const special = 0
