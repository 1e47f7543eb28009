// Command det-remover removes files of checkpoints: it is the program of the tasks that do so.
//
//	det-remover FILE [KEYS]   removes what FILE lists, with the keys to a bucket in KEYS
//
// det-runner fetches it from the master for these tasks alone, so that no other task carries
// a client of object storage. It is static like det-runner, so that removal asks for no image,
// no Python and nothing of the node.
//
// removal.go goes through what there is to do and reports each piece as soon as it is done, so
// that a second attempt goes on where a first one ended; storage.go is where files lie, a folder
// or a bucket; globs.go matches patterns as the clients know them.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	_ "golang.org/x/crypto/x509roots/fallback" // for images without certificates of authorities
)

func main() { os.Exit(command(os.Args[1:])) }

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
