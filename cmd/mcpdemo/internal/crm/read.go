package crm

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/tool"
)

func (c *crm) query(ctx context.Context, in queryInput) (queryOutput, error) {
	o, err := c.object(in.ObjectType)
	if err != nil {
		return queryOutput{}, err
	}
	fields, err := o.pick(in.Fields, false)
	if err != nil {
		return queryOutput{}, err
	}
	where, args, err := o.where(in.Filters)
	if err != nil {
		return queryOutput{}, err
	}
	order, err := o.order(in.OrderBy)
	if err != nil {
		return queryOutput{}, err
	}
	out := queryOutput{Records: []record{}}
	if err := c.db.Read.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+o.Name+where, args...).Scan(&out.Total); err != nil {
		return queryOutput{}, fmt.Errorf("count %s records: %w", o.Name, err)
	}
	rows, err := c.db.Read.QueryContext(ctx,
		"SELECT "+columns(fields)+" FROM "+o.Name+where+order+" LIMIT ? OFFSET ?", append(args, in.Limit, in.Offset)...)
	if err != nil {
		return queryOutput{}, fmt.Errorf("query %s records: %w", o.Name, err)
	}
	defer rows.Close()
	for rows.Next() {
		r, err := scan(rows, fields)
		if err != nil {
			return queryOutput{}, err
		}
		out.Records = append(out.Records, r)
	}
	if next := in.Offset + len(out.Records); next < out.Total && len(out.Records) > 0 {
		out.NextOffset = &next
	}
	return out, rows.Err()
}

func (c *crm) get(ctx context.Context, in getInput) (recordOutput, error) {
	o, err := c.object(in.ObjectType)
	if err != nil {
		return recordOutput{}, err
	}
	fields, err := o.pick(in.Fields, true)
	if err != nil {
		return recordOutput{}, err
	}
	row := c.db.Read.QueryRowContext(ctx, "SELECT "+columns(fields)+" FROM "+o.Name+" WHERE Id = ?", in.RecordID)
	r, err := scan(row, fields)
	if errors.Is(err, sql.ErrNoRows) {
		return recordOutput{}, c.notFound(o, in.RecordID)
	}
	return recordOutput{ObjectType: o.Name, ID: in.RecordID, Record: r}, err
}

// notFound also tells whoever mixed up two kinds of records.
func (c *crm) notFound(o *object, id string) error {
	for _, other := range c.objects {
		if other.Name != o.Name && strings.HasPrefix(id, other.Prefix) {
			return fmt.Errorf("there is no %s with id %q; ids that start with %s belong to object_type %q", o.Name, id, other.Prefix, other.Name)
		}
	}
	return fmt.Errorf("there is no %s with id %q; query_records finds records by their fields", o.Name, id)
}

// pick returns the named fields with Id first, or all of them.
func (o *object) pick(names []string, longTexts bool) ([]field, error) {
	var fields []field
	if len(names) == 0 {
		for _, f := range o.Fields {
			if longTexts || f.Type != typeText {
				fields = append(fields, f)
			}
		}
		return fields, nil
	}
	fields = append(fields, o.Fields[0])
	for _, name := range names {
		f, err := o.field(name)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(fields, func(have field) bool { return have.Name == f.Name }) {
			fields = append(fields, *f)
		}
	}
	return fields, nil
}

func columns(fields []field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return strings.Join(names, ", ")
}

// operators maps the tools' operators to SQL; %s is the column.
var operators = map[string]string{
	"eq": "%s IS ?", "ne": "%s IS NOT ?", "lt": "%s < ?", "lte": "%s <= ?", "gt": "%s > ?", "gte": "%s >= ?",
	"contains": `%s LIKE '%%' || ? || '%%' ESCAPE '\'`, "starts_with": `%s LIKE ? || '%%' ESCAPE '\'`,
	"is_null": "%s IS NULL", "not_null": "%s IS NOT NULL",
}

func (o *object) where(filters []filter) (string, []any, error) {
	var conditions []string
	var args []any
	for i, flt := range filters {
		if flt.Operator == "" { // defaults are not applied inside of arrays
			flt.Operator = "eq"
		}
		f, err := o.field(flt.Field)
		if err != nil {
			return "", nil, fmt.Errorf("filter %d: %w", i+1, err)
		}
		conditions = append(conditions, fmt.Sprintf(operators[flt.Operator], f.Name))
		switch flt.Operator {
		case "is_null", "not_null":
			continue
		case "contains", "starts_with":
			text, ok := flt.Value.(string)
			if !ok {
				return "", nil, fmt.Errorf("filter %d: %s needs a string as value", i+1, flt.Operator)
			}
			args = append(args, strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(text))
		default:
			value, err := comparable(f, flt.Value)
			if err != nil {
				return "", nil, fmt.Errorf("filter %d: %w", i+1, err)
			}
			args = append(args, value)
		}
	}
	if len(conditions) == 0 {
		return "", nil, nil
	}
	return " WHERE " + strings.Join(conditions, " AND "), args, nil
}

// comparable checks a filter's value as if it were written to the field, so
// that a mistyped picklist value is an error and not an empty answer.
func comparable(f *field, value tool.Scalar) (any, error) {
	writable := *f
	writable.ReadOnly, writable.Required = false, false
	return writable.check(value)
}

func (o *object) order(by *orderBy) (string, error) {
	if by == nil {
		return " ORDER BY Id", nil
	}
	f, err := o.field(by.Field)
	if err != nil {
		return "", fmt.Errorf("order_by: %w", err)
	}
	direction := "ASC"
	if by.Direction == "desc" {
		direction = "DESC"
	}
	return " ORDER BY " + f.Name + " " + direction + ", Id", nil
}

// scan reads a row with the given fields.
func scan(row interface{ Scan(...any) error }, fields []field) (record, error) {
	values := make([]any, len(fields))
	for i := range values {
		values[i] = new(any)
	}
	if err := row.Scan(values...); err != nil {
		return nil, err
	}
	r := make(record, len(fields))
	for i, f := range fields {
		value := *values[i].(*any)
		if n, ok := value.(int64); ok && f.Type == typeBoolean {
			value = n != 0
		}
		r[f.Name] = value
	}
	return r, nil
}
