CREATE TABLE categories (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
);
CREATE TABLE products (
  id          INTEGER PRIMARY KEY,
  sku         TEXT NOT NULL UNIQUE,
  name        TEXT NOT NULL,
  category_id INTEGER NOT NULL REFERENCES categories(id),
  price_cents INTEGER NOT NULL CHECK (price_cents >= 0),
  stock       INTEGER NOT NULL DEFAULT 0 CHECK (stock >= 0),
  discontinued INTEGER NOT NULL DEFAULT 0 CHECK (discontinued IN (0, 1))
);
CREATE TABLE customers (
  id         INTEGER PRIMARY KEY,
  name       TEXT NOT NULL,
  email      TEXT NOT NULL UNIQUE,
  city       TEXT NOT NULL,
  country    TEXT NOT NULL,
  segment    TEXT NOT NULL CHECK (segment IN ('consumer', 'business', 'reseller')),
  phone      TEXT,
  created_at TEXT NOT NULL
);
CREATE TABLE orders (
  id           INTEGER PRIMARY KEY,
  customer_id  INTEGER NOT NULL REFERENCES customers(id),
  status       TEXT NOT NULL CHECK (status IN ('pending', 'paid', 'shipped', 'delivered', 'cancelled', 'returned')),
  ordered_at   TEXT NOT NULL,
  shipped_at   TEXT,
  shipping_cents INTEGER NOT NULL DEFAULT 0,
  note         TEXT
);
CREATE TABLE order_items (
  order_id    INTEGER NOT NULL REFERENCES orders(id) ON DELETE CASCADE,
  line        INTEGER NOT NULL,
  product_id  INTEGER NOT NULL REFERENCES products(id),
  quantity    INTEGER NOT NULL CHECK (quantity > 0),
  price_cents INTEGER NOT NULL,
  PRIMARY KEY (order_id, line)
) WITHOUT ROWID;
CREATE INDEX orders_by_customer ON orders(customer_id);
CREATE INDEX orders_by_date ON orders(ordered_at);
CREATE INDEX items_by_product ON order_items(product_id);
CREATE VIEW order_totals AS
  SELECT o.id AS order_id, o.customer_id, o.status, o.ordered_at,
         SUM(i.quantity * i.price_cents) + o.shipping_cents AS total_cents
  FROM orders o JOIN order_items i ON i.order_id = o.id
  GROUP BY o.id;
