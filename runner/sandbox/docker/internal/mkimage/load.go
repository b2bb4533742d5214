package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/moby/moby/client"

	"github.com/mcpgen/mcpgen/runner/sandbox/docker/internal/imagelock"
)

func engine(host string) (*client.Client, error) {
	if host == "" {
		host = client.DefaultDockerHost
	}
	return client.New(client.WithHost(host), client.WithTLSClientConfigFromEnv())
}

// loaded tells whether the engine has the image; an engine that does not answer has not.
func loaded(ctx context.Context, host string, img imagelock.Image) bool {
	c, err := engine(host)
	if err != nil {
		return false
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return has(ctx, c, img)
}

func has(ctx context.Context, c *client.Client, img imagelock.Image) bool {
	found, err := c.ImageInspect(ctx, img.ID)
	if err != nil {
		found, err = c.ImageInspect(ctx, img.Tag())
	}
	return err == nil && slices.Equal(found.RootFS.Layers, img.Layers)
}

// load gives the archive to the engine and makes sure that it kept this very image.
func load(ctx context.Context, host, archive string, img imagelock.Image) error {
	c, err := engine(host)
	if err != nil {
		return err
	}
	defer c.Close()
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	res, err := c.ImageLoad(ctx, f, client.ImageLoadWithQuiet(true))
	if err != nil {
		return fmt.Errorf("load the image into the engine: %w", err)
	}
	answer, err := io.ReadAll(io.LimitReader(res, 64<<10))
	if err := errors.Join(err, res.Close()); err != nil {
		return fmt.Errorf("load the image into the engine: %w", err)
	}
	if !has(ctx, c, img) {
		return fmt.Errorf("load the image into the engine: it is not there afterwards: %s", answer)
	}
	return nil
}
