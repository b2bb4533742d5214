package crm

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/tool"
)

func (c *crm) create(ctx context.Context, in createInput) (writeOutput, error) {
	o, err := c.object(in.ObjectType)
	if err != nil {
		return writeOutput{}, err
	}
	for _, f := range o.Fields {
		if _, given := in.Data[f.Name]; f.Required && !given {
			return writeOutput{}, fmt.Errorf("a new %s needs the field %s (%s)", o.Name, f.Name, f.Label)
		}
	}
	var out writeOutput
	err = c.inTransaction(ctx, func(tx *sql.Tx) error {
		var highest int
		if err := tx.QueryRowContext(ctx, "SELECT coalesce(max(CAST(substr(Id, 6) AS INTEGER)), 0) FROM "+o.Name).Scan(&highest); err != nil {
			return err
		}
		out, err = c.store(ctx, tx, o, newID(o, highest+1), in.Data, true)
		return err
	})
	return out, err
}

func (c *crm) update(ctx context.Context, in updateInput) (writeOutput, error) {
	o, err := c.object(in.ObjectType)
	if err != nil {
		return writeOutput{}, err
	}
	if len(in.Data) == 0 {
		return writeOutput{}, errors.New("data holds no fields to change")
	}
	var out writeOutput
	err = c.inTransaction(ctx, func(tx *sql.Tx) error {
		out, err = c.store(ctx, tx, o, in.RecordID, in.Data, false)
		return err
	})
	return out, err
}

// store checks the data and inserts or updates one record.
func (c *crm) store(ctx context.Context, tx *sql.Tx, o *object, id string, data record, insert bool) (writeOutput, error) {
	out := writeOutput{ObjectType: o.Name, ID: id, Fields: []string{}, LastModifiedDate: c.now().UTC().Format(time.RFC3339)}
	names, args := []string{"LastModifiedDate"}, []any{out.LastModifiedDate}
	for _, name := range slices.Sorted(maps.Keys(data)) {
		f, err := o.field(name)
		if err != nil {
			return writeOutput{}, err
		}
		if slices.Contains(out.Fields, f.Name) {
			return writeOutput{}, fmt.Errorf("field %s is given twice", f.Name)
		}
		value, err := f.check(data[name])
		if err == nil && f.Type == typeRef && value != nil {
			err = c.mustExist(ctx, tx, f, value)
		}
		if err != nil {
			return writeOutput{}, err
		}
		out.Fields = append(out.Fields, f.Name)
		names, args = append(names, f.Name), append(args, value)
	}
	statement := "UPDATE " + o.Name + " SET " + strings.Join(names, " = ?, ") + " = ? WHERE Id = ?"
	if insert {
		names, args = append(names, "CreatedDate", "Id"), append(args, out.LastModifiedDate, id)
		statement = "INSERT INTO " + o.Name + " (" + strings.Join(names, ", ") + ") VALUES (?" + strings.Repeat(", ?", len(names)-1) + ")"
	} else {
		args = append(args, id)
	}
	result, err := tx.ExecContext(ctx, statement, args...)
	if err != nil {
		return writeOutput{}, fmt.Errorf("store %s: %w", o.Name, err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return writeOutput{}, errors.Join(err, c.notFound(o, id))
	}
	return out, nil
}

func (c *crm) mustExist(ctx context.Context, tx *sql.Tx, f *field, id tool.Scalar) error {
	var found int
	err := tx.QueryRowContext(ctx, "SELECT 1 FROM "+f.Target+" WHERE Id = ?", id).Scan(&found)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("field %s: there is no %s with id %q", f.Name, f.Target, id)
	}
	return err
}

func (c *crm) deleteRecord(ctx context.Context, in deleteInput) (deleteOutput, error) {
	o, err := c.object(in.ObjectType)
	if err != nil {
		return deleteOutput{}, err
	}
	out := deleteOutput{ObjectType: o.Name, ID: in.RecordID}
	err = c.inTransaction(ctx, func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, "DELETE FROM "+o.Name+" WHERE Id = ? RETURNING Name", in.RecordID).Scan(&out.Name)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return c.notFound(o, in.RecordID)
		case err != nil && strings.Contains(err.Error(), "FOREIGN KEY"):
			return fmt.Errorf("%s %q cannot be deleted while other records refer to it", o.Name, in.RecordID)
		}
		return err
	})
	return out, err
}

// inTransaction runs f and commits, or undoes everything on an error.
func (c *crm) inTransaction(ctx context.Context, f func(tx *sql.Tx) error) error {
	tx, err := c.db.Write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := f(tx); err != nil {
		if undo := tx.Rollback(); undo != nil && !errors.Is(undo, sql.ErrTxDone) {
			return errors.Join(err, undo)
		}
		return err
	}
	return tx.Commit()
}

// newID makes an id of 15 characters, as Salesforce's are.
func newID(o *object, number int) string { return fmt.Sprintf("%s5f%010d", o.Prefix, number) }
