-- How a large tool result is shown: JSON of head, tail and tokens, as it was decided when the result came. Null where
-- the message is shown whole; check_sum is over it too, where it is not null.
ALTER TABLE chat_messages ADD COLUMN shown TEXT;
