"""The pages of docs/reference/, made from code: commands, settings, events and the API.

Each module gives its page as Markdown. What a page says is declared where it is used: click's commands, the table of
settings, the classes of events, the operations of the API.
"""
