// Command det is the command line of Detent.
package main

import (
	"os"

	"github.com/detent-ml/detent/cli/internal/root"
)

func main() { os.Exit(root.Main()) }
