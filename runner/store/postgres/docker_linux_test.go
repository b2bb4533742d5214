package postgres_test

import (
	"crypto/rand"
	"database/sql"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/ory/dockertest/v3"
	dc "github.com/ory/dockertest/v3/docker"

	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/storetest"
)

// image has Postgres from Debian's packages.
const image = "mcpgen/postgres-test"

// serve makes a database in a container that has nothing, and serves it to those that know the password.
const serve = `bin=$(echo /usr/lib/postgresql/*/bin)
echo "$PASSWORD" >/tmp/password
$bin/initdb --pgdata /tmp/data --username postgres --auth scram-sha-256 --pwfile /tmp/password --no-sync
echo "host all all all scram-sha-256" >>/tmp/data/pg_hba.conf
exec $bin/postgres -D /tmp/data -k /tmp -c listen_addresses=* -c fsync=off`

// TestInDocker runs the suite on a server in a container: over TCP, with a password.
func TestInDocker(t *testing.T) {
	pool, err := dockertest.NewPool("")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Client.InspectImage(image); err != nil {
		t.Fatalf("the image %s: %v: run .ci/docker up and .ci/postgres-image", image, err)
	}
	password := rand.Text()
	container, err := pool.RunWithOptions(&dockertest.RunOptions{
		Repository: image, Tag: "latest", Cmd: []string{"sh", "-euc", serve}, Env: []string{"PASSWORD=" + password},
		ExposedPorts: []string{"5432/tcp"}, PortBindings: map[dc.Port][]dc.PortBinding{"5432/tcp": {{HostIP: "127.0.0.1"}}},
	}, func(c *dc.HostConfig) {
		c.AutoRemove = true
		c.Tmpfs = map[string]string{"/tmp": "mode=1777"}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Purge(container); err != nil {
			t.Errorf("remove the container: %v", err)
		}
	})
	if err := container.Expire(300); err != nil { // if this process dies
		t.Fatal(err)
	}
	at := url.URL{Scheme: "postgres", User: url.UserPassword("postgres", password), Host: container.GetHostPort("5432/tcp"), Path: "/postgres"}
	var db *sql.DB
	err = pool.Retry(func() (err error) {
		if db, err = sql.Open("pgx", at.String()); err == nil {
			err = db.PingContext(t.Context())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	databases := 0
	storetest.Test(t, func(t *testing.T) func() store.Store {
		databases++
		own := at
		own.Path = fmt.Sprintf("/test_%d", databases)
		if _, err := db.ExecContext(t.Context(), "CREATE DATABASE "+own.Path[1:]); err != nil {
			t.Fatal(err)
		}
		open := opener(t, own.String())
		if place := open().Place(); !strings.HasSuffix(place, own.Path) || strings.Contains(place, password) {
			t.Errorf("Place() = %s, want it with %s and without the password", place, own.Path)
		}
		return open
	})
	wrong := at
	wrong.User = url.UserPassword("postgres", "hunter2")
	if _, err := openURL(t.Context(), wrong.String()); err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "password authentication failed") {
		t.Errorf("Open() with another password = %v, want an error that says so, without the password", err)
	}
}
