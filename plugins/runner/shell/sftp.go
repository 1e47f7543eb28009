//go:build linux

package shell

import (
	"errors"
	"io"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

// serveFiles speaks sftp on a channel: files of the task, with the rights of its
// user, relative paths from where sessions begin.
func serveFiles(channel ssh.Channel, dir string) error {
	server, err := sftp.NewServer(channel, sftp.WithServerWorkingDirectory(dir))
	if err != nil {
		return err
	}
	// Closing the server would close the channel before the exit status was told.
	if err := server.Serve(); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}
