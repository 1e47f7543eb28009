//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "det-runner runs tasks on Linux nodes only")
	os.Exit(1)
}
