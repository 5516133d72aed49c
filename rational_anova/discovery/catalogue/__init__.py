"""Laws that have a name, as data, and the forms that users add to them."""

from ._catalogue import catalogue as catalogue
from ._catalogue import find as find
from ._catalogue import read_forms as read_forms
from ._form import NamedForm as NamedForm
from ._recognise import recognised as recognised
