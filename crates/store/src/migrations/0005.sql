-- What a session carries from one request to the next: notices that wait, marks of the prompt that was sent last. In a row
-- that most commits write anyway.
ALTER TABLE chat_activity ADD COLUMN carried TEXT NOT NULL DEFAULT '{}';
