// Command det-remover removes files of checkpoints: it is the program of garbage collections.
//
//	det-remover FILE [KEYS]   removes the files that FILE lists, with the keys of a bucket in KEYS
//
// det-runner fetches it from the master for these tasks only, so that other tasks need no client of
// object storage. Like det-runner it is static, so a removal needs no image, no Python and no
// programs of the node.
//
// removal.go removes the files and reports each checkpoint at once, so that a second attempt
// continues where the first one ended; storage.go is the storage, a folder or a bucket; globs.go
// matches patterns as clients expect; sweep.go removes what programs uploaded and never reported.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/detent-ml/detent/master/cacerts"
)

func main() {
	cacerts.Provide()
	os.Exit(command(os.Args[1:]))
}

func command(args []string) int {
	if len(args) < 1 || len(args) > 2 {
		fmt.Fprintln(os.Stderr, "usage: det-remover FILE [KEYS]; det-runner starts it in tasks that remove checkpoints")
		return 2 // as of det and det-master
	}
	keysFile := ""
	if len(args) == 2 {
		keysFile = args[1]
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := remove(ctx, args[0], keysFile, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
