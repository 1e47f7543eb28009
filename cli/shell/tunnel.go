package shell

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
)

func newTunnel(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:    "tunnel SHELL_ID",
		Short:  "copy bytes between the standard streams and a shell's SSH server",
		Long:   "The ProxyCommand of ssh: copies the standard input to the shell's SSH server, and the\nserver's answers to the standard output. It needs no session, because the shell accepts\nonly its key.",
		Hidden: true,
		Args:   args.Exactly("the ID of a shell"),
		RunE: func(cmd *cobra.Command, given []string) error {
			c, err := a.Anonymous()
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			conn, err := c.DialTask(ctx, given[0])
			if err != nil {
				return err
			}
			return carry(ctx, conn, a.IO.In, a.IO.Out)
		},
	}
}

// carry copies in both directions until the other side ends. The end of the input closes the
// sending direction; data from the other side still arrive.
func carry(ctx context.Context, conn net.Conn, in io.Reader, out io.Writer) error {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	go func() { // ends with the process, because reading the input cannot be interrupted
		_, err := io.Copy(conn, in)
		half, ok := conn.(interface{ CloseWrite() error })
		if err != nil || !ok || half.CloseWrite() != nil {
			_ = conn.Close()
		}
	}()
	_, err := io.Copy(out, conn)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
